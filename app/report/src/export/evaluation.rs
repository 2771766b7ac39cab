//! An evaluation as CSV: a line for each region and predictor.

use fathomp_advise::evaluate::Evaluation;
use fathomp_types::text::csv_field;

/// The lines, with a heading.
#[must_use]
pub fn evaluation_csv(evaluation: &Evaluation) -> String {
    let mut text = "benchmark,size,region,alone_ns,speedup,utilisation,class,best_threads,predictor,predicted_speedup,predicted_utilisation,right,threads,regret\n".to_owned();
    for case in &evaluation.cases {
        for (result, said) in evaluation.predictors.iter().zip(&case.said) {
            let Some(said) = said else { continue };
            let numbers = [
                format!("{:.0}", case.alone_ns),
                format!("{:.5}", case.speedup),
                format!("{:.5}", case.utilisation),
                case.class.to_string(),
                case.best_threads.to_string(),
            ];
            let predicted = [
                format!("{:.5}", said.speedup),
                format!("{:.5}", said.utilisation),
                u32::from(said.right).to_string(),
                said.threads.to_string(),
                format!("{:.5}", said.regret),
            ];
            let names = [&case.benchmark, &case.size, &case.region].map(|name| csv_field(name));
            text.push_str(&format!(
                "{},{},{},{}\n",
                names.join(","),
                numbers.join(","),
                csv_field(result.name),
                predicted.join(",")
            ));
        }
    }
    text
}
